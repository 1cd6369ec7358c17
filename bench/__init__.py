"""Side-by-side benchmarks: ratios against something run beside it in the same minutes, never seconds alone."""
