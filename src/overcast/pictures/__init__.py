"""Pictures of beliefs, decisions and histories; matplotlib is imported when one is drawn."""
