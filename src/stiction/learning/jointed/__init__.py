"""Parts with joints: a free base that carries hinges and slides, identified from recordings of whole motions."""
