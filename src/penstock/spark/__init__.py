"""The host: workers as Spark tasks, a session to run them in, and a doctor who looks at both first."""
