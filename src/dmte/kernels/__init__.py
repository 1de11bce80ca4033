"""The few operations that take the time, with hand-written backward passes."""
