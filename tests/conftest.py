"""What holds for the tests of all folders."""

from hypothesis import HealthCheck, settings

# A starved machine draws examples slowly, and runs them slowly: neither is a fault of a strategy or of the program.
settings.register_profile(
    "modhub", parent=settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("modhub")
