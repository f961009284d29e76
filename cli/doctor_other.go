//go:build !unix

package cli

// mayWrite says nothing where rights cannot be asked for without writing.
func mayWrite(string) error { return nil }
