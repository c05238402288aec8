"""Response selection: tasks, models and the selector."""
