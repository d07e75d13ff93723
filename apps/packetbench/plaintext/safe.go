package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Safe replaces what a terminal would obey (control characters but line ends
// and tabs, and the bidirectional controls that reorder a line) by a visible
// mark, and invalid bytes by U+FFFD.
func Safe(s string) string {
	if strings.IndexFunc(s, drives) < 0 && utf8.ValidString(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if drives(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

func drives(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return true
	}
	return unicode.IsControl(r)
}

// Line is the first most characters of s on one line.
func Line(s string, most int) string {
	s = Safe(strings.ReplaceAll(s, "\r\n", "\n"))
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		rest := strings.TrimSpace(s[i:])
		s = strings.TrimRight(s[:i], " \t\r")
		if rest != "" {
			s += " ..."
		}
	}
	s = strings.ReplaceAll(s, "\t", " ")
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "..."
		}
		n++
	}
	return s
}
