package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func streams() map[string][]byte {
	var text, short, coloured, unicode bytes.Buffer
	for i := 0; text.Len() < 1<<20; i++ {
		fmt.Fprintf(&text, "%07d %s\r\n", i, strings.Repeat("lorem ipsum ", 6))
	}
	for short.Len() < 1<<20 {
		short.WriteString("y\r\n")
	}
	for i := 0; coloured.Len() < 1<<20; i++ {
		fmt.Fprintf(&coloured, "\x1b[1;3%dmword\x1b[0m plain \x1b[38;5;%dmmore\x1b[m\x1b[K\r\n", i%8, i%256)
	}
	for unicode.Len() < 1<<20 {
		unicode.WriteString("\u65e5\u672c\u8a9e \u00e9t\u00e9 \u2500\u2502 text\r\n")
	}
	return map[string][]byte{"text": text.Bytes(), "yes": short.Bytes(), "colours": coloured.Bytes(), "unicode": unicode.Bytes()}
}

func BenchmarkWrite(b *testing.B) {
	for name, stream := range streams() {
		b.Run(name, func(b *testing.B) {
			s := New(Options{Cols: 120, Rows: 40, Lines: 10_000, Bytes: 4 << 20})
			b.SetBytes(int64(len(stream)))
			for b.Loop() {
				s.Write(stream)
			}
		})
	}
}

// BenchmarkSnapshot is of a full scrollback; the issue allows the time of
// feeding 1 MB.
func BenchmarkSnapshot(b *testing.B) {
	for name, stream := range streams() {
		b.Run(name, func(b *testing.B) {
			s := New(Options{Cols: 120, Rows: 40, Lines: 10_000, Bytes: 4 << 20})
			for range 3 {
				s.Write(stream)
			}
			for b.Loop() {
				b.SetBytes(int64(len(s.Snapshot())))
			}
			b.ReportMetric(float64(s.Lines()), "lines")
		})
	}
}

// BenchmarkResize lays a full scrollback out anew, narrower and back.
func BenchmarkResize(b *testing.B) {
	for name, stream := range streams() {
		b.Run(name, func(b *testing.B) {
			s := New(Options{Cols: 120, Rows: 40, Lines: 10_000, Bytes: 4 << 20})
			for range 3 {
				s.Write(stream)
			}
			for b.Loop() {
				s.Resize(70, 30)
				s.Resize(120, 40)
			}
		})
	}
}
