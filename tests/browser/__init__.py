"""The console's page in a real browser: a headless Chromium, driven as a person would."""
