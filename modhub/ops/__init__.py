"""The operator's side: `modhub-admin`, health checks, migrations."""
