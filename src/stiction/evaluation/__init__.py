"""How good a law is on contacts and tosses that it was not trained on."""
