"""The pages of the dashboard, one module each: handlers that show a page or take its form."""
