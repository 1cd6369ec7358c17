"""Who a caller is and what they may do: identities, the security policy, API keys."""
