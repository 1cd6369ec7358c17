"""From a request to a view and back: tweens, the tree of resources, view decorators, error answers, kept reads."""
