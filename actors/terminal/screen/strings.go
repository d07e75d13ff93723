package screen

import (
	"strconv"
	"strings"
)

// maxTitle bounds the title in bytes.
const maxTitle = 1 << 10

// oscEnd carries out an operating system command. good is false when it was
// cancelled.
func (s *Screen) oscEnd(good bool) {
	text, over := string(s.text), s.over
	s.end()
	s.before = 0
	if !good || over {
		return
	}
	number, rest, _ := strings.Cut(text, ";")
	if strings.Trim(number, "0123456789") != "" {
		return
	}
	code, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	switch code {
	case 0, 2:
		if len(rest) <= maxTitle {
			s.title, s.titled = rest, true
		}
	case 4:
		slots := strings.Split(rest, ";")
		for ; len(slots) > 1; slots = slots[2:] {
			s.recolour(4, slots[0], slots[1])
		}
	case 10, 11, 12:
		for i, spec := range strings.Split(rest, ";") {
			if code+i <= 12 {
				s.recolour(code+i, "", spec)
			}
		}
	case 104:
		if rest == "" {
			s.forgetColours("4;")
			return
		}
		for _, index := range strings.Split(rest, ";") {
			delete(s.palette, "4;"+index)
		}
	case 110, 111, 112:
		delete(s.palette, strconv.Itoa(code-100))
	case 8:
		s.hyperlink(rest)
	}
}

func (s *Screen) forgetColours(prefix string) {
	for key := range s.palette {
		if strings.HasPrefix(key, prefix) {
			delete(s.palette, key)
		}
	}
}

// maxColour bounds the text of one colour in bytes.
const maxColour = 64

// recolour remembers a colour that was changed; a question is not remembered.
func (s *Screen) recolour(code int, index, spec string) {
	if spec == "?" || spec == "" || len(spec) > maxColour {
		return
	}
	key := strconv.Itoa(code)
	if code == 4 {
		n, err := strconv.ParseUint(index, 10, 8)
		if err != nil {
			return
		}
		key += ";" + strconv.FormatUint(n, 10)
	}
	if s.palette == nil {
		s.palette = make(map[string]string)
	}
	s.palette[key] = spec
	s.recoloured = true
}

// hyperlink begins or ends a link: parameters, a semicolon, the address.
func (s *Screen) hyperlink(rest string) {
	params, address, ok := strings.Cut(rest, ";")
	if !ok || address == "" && strings.TrimSpace(params) != "" {
		return
	}
	e := &s.pen.ext
	e.link = 0
	if address != "" {
		id := ""
		for _, p := range strings.Split(strings.TrimSpace(params), ":") {
			if v, found := strings.CutPrefix(p, "id="); found && id == "" {
				id = v
			}
		}
		if id != "" {
			id = "id=" + id
		}
		e.link = s.looks.link(id + ";" + address)
	}
	s.pen.mark()
	s.penExt = s.looks.index(*e)
}

// dcsEnd answers a request for a setting, the one string that has an effect.
func (s *Screen) dcsEnd(good bool) {
	text, id, over := string(s.text), s.collect, s.over
	s.end()
	s.before = 0
	if !good || over || id != '$'<<8|'q' {
		return
	}
	reply := "0$r"
	switch text {
	case `"q`:
		reply = "1$r0\"q"
		if s.pen.bg&guard != 0 {
			reply = "1$r1\"q"
		}
	case `"p`:
		reply = "1$r61;1\"p"
	case "r":
		reply = "1$r" + strconv.Itoa(s.on.top+1) + ";" + strconv.Itoa(s.on.bottom+1) + "r"
	case "m":
		reply = "1$r0m"
	case " q":
		reply = "1$r" + strconv.Itoa(max(s.modes.cursor, 1)) + " q"
	}
	s.answer("\x1bP" + reply + "\x1b\\")
}
