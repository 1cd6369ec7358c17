// Plans, downloads and verifies, with .NET 8 and no packages: docs/clients.md, part 10.
using System.Net;
using System.Net.Http.Headers;
using System.Net.Http.Json;
using System.Security.Cryptography;
using System.Text.Json;

var service = new Uri("https://mods.example.org/");
var handler = new SocketsHttpHandler { AllowAutoRedirect = false, AutomaticDecompression = DecompressionMethods.GZip };
using var client = new HttpClient(handler) { BaseAddress = service };
client.DefaultRequestHeaders.UserAgent.ParseAdd("my-overlay/1.0");

var question = new { want = new[] { "6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90" }, because = false };
using var planned = await client.PostAsJsonAsync("api/modhub/plan", question);
planned.EnsureSuccessStatusCode();
var plan = await planned.Content.ReadFromJsonAsync<JsonElement>();
if (plan.GetProperty("conflictsTotal").GetInt32() > 0 || plan.GetProperty("missing").GetArrayLength() > 0)
    throw new InvalidOperationException("Ask the user.");

foreach (var entry in plan.GetProperty("lock").GetProperty("entries").EnumerateArray())
{
    var guid = entry.GetProperty("guid").GetString()!;
    var sha256 = entry.GetProperty("sha256").GetString()!;
    var mod = await client.GetFromJsonAsync<JsonElement>($"api/modhub/guid/{guid}");
    var code = mod.GetProperty("assets").EnumerateArray().First(a => a.GetProperty("kind").GetString() == "code");
    var address = new Uri(service, code.GetProperty("url").GetString());
    if (address.GetLeftPart(UriPartial.Authority) != service.GetLeftPart(UriPartial.Authority))
        throw new InvalidDataException("Not an address of this service.");

    var part = guid + ".part";
    var start = File.Exists(part) ? new FileInfo(part).Length : 0;
    if (start < code.GetProperty("bytes").GetInt64())
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, address);
        var tag = new EntityTagHeaderValue($"\"{sha256}\"");
        if (start == 0) request.Headers.IfMatch.Add(tag);
        else request.Headers.IfRange = new RangeConditionHeaderValue(tag);
        if (start > 0) request.Headers.Range = new RangeHeaderValue(start, null);
        using var answer = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
        answer.EnsureSuccessStatusCode();
        var mode = answer.StatusCode == HttpStatusCode.PartialContent ? FileMode.Append : FileMode.Create;
        await using var file = new FileStream(part, mode);
        await answer.Content.CopyToAsync(file);
    }
    var digest = Convert.ToHexString(SHA256.HashData(File.ReadAllBytes(part))).ToLowerInvariant();
    if (digest != sha256) throw new InvalidDataException("Damaged on the way: delete the part and download it again.");
    File.Move(part, guid + ".mod", overwrite: true);
}
