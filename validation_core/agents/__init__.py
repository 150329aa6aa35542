"""What an agent may ask about the tables of one folder: tools, their server, and a skill."""
