"""Side-by-side benchmarks: ratios to a baseline measured in the same minutes, never bare seconds."""
