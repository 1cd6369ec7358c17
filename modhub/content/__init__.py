"""Rules of text: what fields may hold, HTML, Markdown, search folds. It knows nothing of the rest."""
