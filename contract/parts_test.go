package contract

import (
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// TestCutUTF16 cuts texts where a browser would (F01's near relative: a piece
// never ends inside a character).
func TestCutUTF16(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in   string
		n          int
		head, rest string
	}{
		{"nothing", "", 3, "", ""},
		{"none of it", "abc", 0, "", "abc"},
		{"less than none", "abc", -1, "", "abc"},
		{"ASCII", "abc", 2, "ab", "c"},
		{"all", "abc", 3, "abc", ""},
		{"more than all", "abc", 9, "abc", ""},
		{"two bytes are one unit", "\u00e9a", 1, "\u00e9", "a"},
		{"three bytes are one unit", "\u2014a", 1, "\u2014", "a"},
		{"an emoji is two units", "\U0001F600a", 2, "\U0001F600", "a"},
		{"half an emoji stays", "\U0001F600a", 1, "", "\U0001F600a"},
		{"half an emoji behind text stays", "a\U0001F600", 2, "a", "\U0001F600"},
		{"an invalid byte is one unit", "\xffa", 1, "\xff", "a"},
		{"a torn character is one unit a byte", "\xe2\x80a", 2, "\xe2\x80", "a"},
		{"the last of the plane", "\uffffa", 1, "\uffff", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if head, rest := CutUTF16(tc.in, tc.n); head != tc.head || rest != tc.rest {
				t.Fatalf("CutUTF16(%q, %d) = %q, %q; want %q, %q", tc.in, tc.n, head, rest, tc.head, tc.rest)
			}
		})
	}
}

func FuzzUTF16(f *testing.F) {
	f.Add("a\u00e9\u2014\U0001F600", 3)
	f.Add("\xff\xe2\x80", 1)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if got, want := UTF16Len(s), len(utf16.Encode([]rune(s))); got != want {
			t.Fatalf("UTF16Len(%q) = %d, want %d", s, got, want)
		}
		head, rest := CutUTF16(s, n)
		if head+rest != s {
			t.Fatalf("CutUTF16(%q, %d) = %q, %q, which is another text", s, n, head, rest)
		}
		size := UTF16Len(head)
		if size > max(n, 0) {
			t.Fatalf("the head of %d units has %d", n, size)
		}
		if rest == "" || n <= 0 {
			return
		}
		// Short of n only where the next character would not fit.
		r, _ := utf8.DecodeRuneInString(rest)
		if size < n && (r <= 0xffff || size < n-1) {
			t.Fatalf("CutUTF16(%q, %d) stops after %d units", s, n, size)
		}
	})
}
