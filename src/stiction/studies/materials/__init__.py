"""Materials: friction that no Coulomb law expresses, learned by several laws, and carried over to other bodies."""
