package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// pageKeyBytes is the size of the key of pages before it is written in hex.
const pageKeyBytes = 32

// pageKey is what the cookie of an owner's page holds: kept in the data
// directory, so that an open page goes on after a restart, while the tokens of
// run.json are new at each start. Removing the file signs every page out. A key
// that cannot be kept lasts as long as this service.
func (s *service) pageKey() string {
	path := s.cfg.Paths.PageKey()
	switch kept, err := os.ReadFile(path); {
	case err == nil:
		if key := strings.TrimSpace(string(kept)); len(key) == 2*pageKeyBytes {
			return key
		}
		s.logger.Warn("the key of pages is damaged; a new one is made, and open pages have to sign in again", "file", path)
	case !errors.Is(err, fs.ErrNotExist):
		s.logger.Warn("the key of pages cannot be read; open pages have to sign in again after a restart", "reason", err)
		return token(pageKeyBytes)
	}
	key := token(pageKeyBytes)
	if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
		s.logger.Warn("the key of pages cannot be kept; open pages have to sign in again after a restart", "reason", err)
	}
	return key
}
