"""The scripts, one module for each subject. They use what they are given and import neither library."""
