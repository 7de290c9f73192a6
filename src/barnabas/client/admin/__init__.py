"""Administration, a module for each subject."""
