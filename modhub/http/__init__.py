"""Everything around the views: tweens, error views, headers, conditions, cookies and forms."""
