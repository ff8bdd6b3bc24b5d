"""Which system is rated or ranked higher, and by how much: one question, in two forms of answer."""
