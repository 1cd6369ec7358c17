// A client made by Kiota: docs/clients.md, part 11.
using Microsoft.Kiota.Abstractions.Authentication;
using Microsoft.Kiota.Bundle;
using Modhub;

var adapter = new DefaultRequestAdapter(new AnonymousAuthenticationProvider()) { BaseUrl = "https://mods.example.org" };
var client = new ModhubClient(adapter);
var found = await client.Api.Modhub.GetAsync(request => request.QueryParameters.Q = "rally");
foreach (var mod in found!.Mods!) Console.WriteLine($"{mod.Guid} {mod.Title} {mod.Version}");
