"""The Flask adapter: routes parse and authorise, call one service, and render."""
