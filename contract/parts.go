package contract

import "unicode/utf8"

// UTF16Len is the length of s as a browser counts it: UTF-16 code units. An
// invalid byte counts as one, as its replacement character does.
func UTF16Len(s string) int {
	n := 0
	for _, r := range s {
		if r > 0xffff {
			n++
		}
		n++
	}
	return n
}

// CutUTF16 returns the first n UTF-16 code units of s and the rest. It never
// cuts inside a character: one that n would split stays in the rest. Fewer
// than n units give the whole of s.
func CutUTF16(s string, n int) (head, rest string) {
	at := 0
	for at < len(s) && n > 0 {
		r, size := utf8.DecodeRuneInString(s[at:])
		if r > 0xffff {
			if n < 2 {
				break
			}
			n--
		}
		n--
		at += size
	}
	return s[:at], s[at:]
}
