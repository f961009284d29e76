package cli

import (
	"errors"

	"signalbox/client/acmp"
)

// transcriptsConfig is `transcripts: {keep: N, max_bytes: N}` of the config file: how
// much of the output of ended tasks is kept on disk. What is not given keeps its
// default.
type transcriptsConfig struct {
	Keep     *int   `yaml:"keep"`      // transcripts
	MaxBytes *int64 `yaml:"max_bytes"` // bytes, all together
}

// check says what is wrong, and the key it stands under.
func (c transcriptsConfig) check() (key string, err error) {
	switch {
	case c.Keep != nil && *c.Keep < 1:
		return "keep", errors.New("transcripts.keep must be 1 or more")
	case c.MaxBytes != nil && *c.MaxBytes < 1:
		return "max_bytes", errors.New("transcripts.max_bytes must be 1 or more")
	}
	return "", nil
}

func (c transcriptsConfig) bounds() acmp.Bounds {
	var b acmp.Bounds
	if c.Keep != nil {
		b.Keep = *c.Keep
	}
	if c.MaxBytes != nil {
		b.MaxBytes = *c.MaxBytes
	}
	return b
}
