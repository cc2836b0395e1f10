"""The study of materials: friction that no Coulomb law expresses."""
