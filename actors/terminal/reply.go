package terminal

import "bytes"

// isReply reports whether input is nothing but what a terminal sends by itself:
// answers to queries and reports of its focus. Every window that shows the
// terminal sends them, so all but one window's are dropped, and none of them
// means that a person typed there.
func isReply(in []byte) bool {
	if len(in) == 0 {
		return false
	}
	for len(in) > 0 {
		n := reply(in)
		if n == 0 {
			return false
		}
		in = in[n:]
	}
	return true
}

// reply returns the length of the reply that in begins with, 0 for none.
//
//	CSI I, CSI O                  focus
//	CSI ? ... c, CSI > ... c      device attributes
//	CSI n ; n R, CSI ? n ; n R    cursor position
//	CSI n n                       status
//	CSI ... $ y                   a mode
//	CSI n ; n ; n t               sizes
//	DCS ... ST                    a setting, XTVERSION
//	OSC n ; ... ST or BEL         a colour
//
// CSI 1 ; n R is F3 with a modifier as well. A window that has typed before owns
// the terminal, so its keys are never dropped.
func reply(in []byte) int {
	if len(in) < 3 || in[0] != 0x1b {
		return 0
	}
	switch in[1] {
	case 'P':
		return ended(in, "\x1b\\")
	case ']':
		n := ended(in, "\x1b\\")
		if bel := ended(in, "\x07"); bel > 0 && (n == 0 || bel < n) {
			n = bel
		}
		return n
	case '[':
		return csiReply(in)
	}
	return 0
}

func ended(in []byte, by string) int {
	if i := bytes.Index(in, []byte(by)); i >= 0 {
		return i + len(by)
	}
	return 0
}

func csiReply(in []byte) int {
	i := 2
	private := in[i] == '?' || in[i] == '>'
	if private {
		i++
	}
	from, parts := i, 1
	for i < len(in) && (in[i] >= '0' && in[i] <= '9' || in[i] == ';') {
		if in[i] == ';' {
			parts++
		}
		i++
	}
	digits := i - from
	if i >= len(in) {
		return 0
	}
	switch in[i] {
	case 'I', 'O':
		if digits == 0 && !private {
			return i + 1
		}
	case 'c':
		if private {
			return i + 1
		}
	case 'R':
		if parts == 2 && digits >= 3 {
			return i + 1
		}
	case 'n':
		if digits > 0 {
			return i + 1
		}
	case 't':
		if parts == 3 {
			return i + 1
		}
	case '$':
		if i+1 < len(in) && in[i+1] == 'y' {
			return i + 2
		}
	}
	return 0
}
