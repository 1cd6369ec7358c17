"""The operator's tools: `modhub-admin`, health checks, migrations."""
