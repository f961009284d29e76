//go:build !unix

package acmp

import (
	"fmt"
	"os"
)

// lockFile opens path; here nothing keeps a second process out.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	return f, nil
}
