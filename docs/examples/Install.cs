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

// A file that was replaced meanwhile takes another plan.
for (var plans = 0; !await Install("6b1f5c1e-8a57-4c9e-9f4e-2d1a6c1f7b90"); plans++)
    if (plans == 3) throw new InvalidOperationException("The mods change too often. Try again later.");

async Task<bool> Install(string wanted)
{
    var question = new { want = new[] { wanted }, because = false };
    using var planned = await client.PostAsJsonAsync("api/modhub/plan", question);
    planned.EnsureSuccessStatusCode();
    var plan = await planned.Content.ReadFromJsonAsync<JsonElement>();
    if (plan.GetProperty("conflictsTotal").GetInt64() > 0 || plan.GetProperty("missing").GetArrayLength() > 0)
        throw new InvalidOperationException("Ask the user.");
    // In the order of installation; nothing is put in place before all is here.
    var steps = plan.GetProperty("steps").EnumerateArray().ToList();
    foreach (var step in steps)
        if (!await Download(step)) return false;
    foreach (var guid in steps.Select(step => step.GetProperty("guid").GetString()!))
        File.Move(guid + ".part", guid + ".mod", overwrite: true);
    return true;
}

async Task<bool> Download(JsonElement step)
{
    var address = new Uri(service, step.GetProperty("url").GetString());
    if (address.GetLeftPart(UriPartial.Authority) != service.GetLeftPart(UriPartial.Authority))
        throw new InvalidDataException("Not an address of this service.");
    var (part, bytes) = (step.GetProperty("guid").GetString() + ".part", step.GetProperty("bytes").GetInt64());
    var sha256 = step.GetProperty("sha256").GetString()!;
    // A longer part is that of another version.
    if (File.Exists(part) && new FileInfo(part).Length > bytes) File.Delete(part);
    var start = File.Exists(part) ? new FileInfo(part).Length : 0;
    if (start < bytes)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, address);
        var tag = new EntityTagHeaderValue($"\"{sha256}\"");
        if (start == 0) request.Headers.IfMatch.Add(tag);
        else request.Headers.IfRange = new RangeConditionHeaderValue(tag);
        if (start > 0) request.Headers.Range = new RangeHeaderValue(start, null);
        using var answer = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
        if (answer.StatusCode is HttpStatusCode.PreconditionFailed or HttpStatusCode.NotFound) return false;
        answer.EnsureSuccessStatusCode(); // 429 and 503 have Retry-After: wait that long, and begin again.
        var mode = answer.StatusCode == HttpStatusCode.PartialContent ? FileMode.Append : FileMode.Create;
        await using var file = new FileStream(part, mode);
        await answer.Content.CopyToAsync(file);
    }
    if (Convert.ToHexString(SHA256.HashData(File.ReadAllBytes(part))).ToLowerInvariant() == sha256) return true;
    File.Delete(part);
    return false;
}
