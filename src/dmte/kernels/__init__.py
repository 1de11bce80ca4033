"""The operations that dominate training time, with hand-written backward passes."""
