package project

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"unicode/utf8"
)

// errNoText says that a file is no regular text file within its limit.
var errNoText = errors.New("it is no text file of a bearable size")

// readText reads a whole text file through root, at most `most` bytes of it; cut
// says that there was more.
func readText(root *os.Root, name string, most int) (text string, cut bool, err error) {
	info, err := root.Stat(name)
	if err != nil {
		return "", false, err
	}
	if !info.Mode().IsRegular() { // A pipe would be waited for.
		return "", false, errNoText
	}
	f, err := root.Open(name)
	if err != nil {
		return "", false, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	if err != nil {
		return "", false, err
	}
	if cut = len(b) > most; cut {
		b = b[:most]
	}
	text = whole(string(b))
	if !utf8.ValidString(text) {
		return "", false, errNoText
	}
	return text, cut, nil
}

// whole drops a character that was cut in two at the end.
func whole(text string) string {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRuneInString(text[len(text)-n:]) {
				return text[:len(text)-n]
			}
			return text
		}
	}
	return text
}

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }
