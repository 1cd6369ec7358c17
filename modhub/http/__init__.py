"""What every request passes: tweens, error views, headers, conditions, cookies and forms."""
