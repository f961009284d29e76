package acop

// Principal names the identity behind a bearer token, for servers that need no
// role. It is safe for concurrent use.
func (t *Tokens) Principal(token string) (identity string, ok bool) {
	c, ok := t.lookup(token)
	return c.Identity, ok
}
