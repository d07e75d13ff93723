package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

const head = `// Generated from package contract by contract/gen. Do not edit: run make gen.

`

// writer prints the TypeScript of one source.
type writer struct {
	*source
	b bytes.Buffer
	// all names, for a string type, the exported list of all its values when
	// the package has one.
	all map[string]string
}

// Generate returns the TypeScript of the package in dir. It fails when a
// method or a member of the second family has no row in its table, because the
// page would then have to guess a shape.
func Generate(dir string) ([]byte, error) {
	s, err := load(dir)
	if err != nil {
		return nil, err
	}
	w := &writer{source: s, all: map[string]string{}}
	w.eachList(func(_ *ast.CommentGroup, name, elem string, values []string) {
		if sameSet(values, s.values[elem]) {
			w.all[elem] = name
		}
	})
	w.b.WriteString(head)
	for i, f := range s.files {
		before := w.b.Len()
		fmt.Fprintf(&w.b, "// %s\n\n", s.names[i])
		start := w.b.Len()
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				if err := w.decl(g); err != nil {
					return nil, fmt.Errorf("%s: %w", s.names[i], err)
				}
			}
		}
		if w.b.Len() == start {
			w.b.Truncate(before)
		}
	}
	if err := w.unions(); err != nil {
		return nil, err
	}
	return append(bytes.TrimRight(w.b.Bytes(), "\n"), '\n'), nil
}

func (w *writer) decl(d *ast.GenDecl) error {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				if err := w.typeSpec(spec); err != nil {
					return fmt.Errorf("type %s: %w", spec.Name.Name, err)
				}
			}
		case *ast.ValueSpec:
			if d.Tok == token.CONST {
				w.constants(docOf(d, spec), spec)
			} else if name, elem, values, ok := w.list(spec); ok {
				w.printList(docOf(d, spec), name, elem, values)
			}
		}
	}
	return nil
}

// comment prints doc as TSDoc, without directives.
func (w *writer) comment(indent string, doc *ast.CommentGroup) {
	lines := strings.Split(strings.TrimSpace(doc.Text()), "\n")
	if doc == nil || lines[0] == "" {
		return
	}
	if len(lines) == 1 {
		fmt.Fprintf(&w.b, "%s/** %s */\n", indent, safe(lines[0]))
		return
	}
	fmt.Fprintf(&w.b, "%s/**\n", indent)
	for _, l := range lines {
		fmt.Fprintf(&w.b, "%s\n", strings.TrimRight(indent+" * "+safe(l), " "))
	}
	fmt.Fprintf(&w.b, "%s */\n", indent)
}

// safe keeps a comment from ending the comment it is put into.
func safe(line string) string { return strings.ReplaceAll(line, "*/", "*\\/") }

func (w *writer) constants(doc *ast.CommentGroup, spec *ast.ValueSpec) {
	for _, name := range spec.Names {
		c, ok := w.info.Defs[name].(*types.Const)
		if !ok || !name.IsExported() {
			continue
		}
		of := ""
		if named, ours := c.Type().(*types.Named); ours {
			if !w.open[named.Obj().Name()] {
				continue // part of its type's union
			}
			of = ": " + named.Obj().Name()
		}
		var v string
		switch c.Val().Kind() {
		case constant.String:
			v = quote(constant.StringVal(c.Val()))
		case constant.Int, constant.Float:
			v = c.Val().ExactString()
		case constant.Bool:
			v = c.Val().String()
		default:
			continue
		}
		w.comment("", doc)
		fmt.Fprintf(&w.b, "export const %s%s = %s\n\n", name.Name, of, v)
	}
}

// list is a variable that is a slice of constant strings.
func (w *writer) list(spec *ast.ValueSpec) (name, elem string, values []string, ok bool) {
	if len(spec.Names) != 1 || len(spec.Values) != 1 || !spec.Names[0].IsExported() {
		return "", "", nil, false
	}
	lit, ok := spec.Values[0].(*ast.CompositeLit)
	if !ok {
		return "", "", nil, false
	}
	array, ok := lit.Type.(*ast.ArrayType)
	if !ok {
		return "", "", nil, false
	}
	id, ok := array.Elt.(*ast.Ident)
	if !ok {
		return "", "", nil, false
	}
	for _, e := range lit.Elts {
		v, ok := w.text(e)
		if !ok {
			return "", "", nil, false
		}
		values = append(values, v)
	}
	return lower(spec.Names[0].Name), id.Name, values, true
}

func (w *writer) eachList(do func(doc *ast.CommentGroup, name, elem string, values []string)) {
	for _, f := range w.files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				if name, elem, values, ok := w.list(spec.(*ast.ValueSpec)); ok {
					do(docOf(g, spec.(*ast.ValueSpec)), name, elem, values)
				}
			}
		}
	}
}

func docOf(d *ast.GenDecl, spec *ast.ValueSpec) *ast.CommentGroup {
	if spec.Doc == nil && !d.Lparen.IsValid() {
		return d.Doc
	}
	return spec.Doc
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return len(a) > 0 && slices.Equal(a, b)
}

func (w *writer) printList(doc *ast.CommentGroup, name, elem string, values []string) {
	w.comment("", doc)
	if w.all[elem] == name {
		fmt.Fprintf(&w.b, "export const %s = [\n", name)
		w.values(values)
		w.b.WriteString("] as const\n\n")
		return
	}
	fmt.Fprintf(&w.b, "export const %s: readonly %s[] = [\n", name, elem)
	w.values(values)
	w.b.WriteString("]\n\n")
}

func (w *writer) values(values []string) {
	for _, v := range values {
		fmt.Fprintf(&w.b, "  %s,\n", quote(v))
	}
}

func (w *writer) typeSpec(spec *ast.TypeSpec) error {
	name := spec.Name.Name
	switch t := spec.Type.(type) {
	case *ast.StructType:
		return w.structType(name, t)
	case *ast.InterfaceType:
		return nil
	case *ast.Ident:
		if t.Name != "string" {
			break
		}
		values, fixed := w.source.values[name], !w.open[name]
		if len(values) == 0 || !fixed {
			w.comment("", w.docs[name])
			fmt.Fprintf(&w.b, "export type %s = string\n\n", name)
			return nil
		}
		all := w.all[name]
		if all == "" {
			all = lower(name) + "Values"
			fmt.Fprintf(&w.b, "/** Every value of %s. */\n", name)
			fmt.Fprintf(&w.b, "export const %s = [\n", all)
			w.values(values)
			w.b.WriteString("] as const\n\n")
		}
		w.comment("", w.docs[name])
		fmt.Fprintf(&w.b, "export type %s = (typeof %s)[number]\n\n", name, all)
		return nil
	}
	ts, err := w.typeOf(spec.Type)
	if err != nil {
		return err
	}
	w.comment("", w.docs[name])
	fmt.Fprintf(&w.b, "export type %s = %s\n\n", name, ts)
	return nil
}

func (w *writer) structType(name string, t *ast.StructType) error {
	if slices.Contains(w.payloads, name) && len(t.Fields.List) == 0 {
		w.comment("", w.docs[name])
		fmt.Fprintf(&w.b, "export type %s = null\n\n", name)
		return nil
	}
	var parents []string
	keys := 0
	for _, f := range t.Fields.List {
		if key, _ := jsonKey(f); key != "" {
			keys++
		}
		if len(f.Names) == 0 {
			id, ok := f.Type.(*ast.Ident)
			if !ok {
				return fmt.Errorf("embeds something that is no type of this package")
			}
			parents = append(parents, id.Name)
		}
	}
	if keys == 0 && len(t.Fields.List) > 0 {
		return nil // not a wire shape
	}
	w.comment("", w.docs[name])
	if len(t.Fields.List) == 0 {
		fmt.Fprintf(&w.b, "export type %s = { readonly [key: string]: never }\n\n", name)
		return nil
	}
	fmt.Fprintf(&w.b, "export interface %s", name)
	if len(parents) > 0 {
		fmt.Fprintf(&w.b, " extends %s", strings.Join(parents, ", "))
	}
	w.b.WriteString(" {\n")
	for _, f := range t.Fields.List {
		key, omit := jsonKey(f)
		if key == "" || len(f.Names) == 0 {
			continue
		}
		typ := f.Type
		star, pointer := typ.(*ast.StarExpr)
		if pointer {
			typ = star.X
		}
		ts, err := w.typeOf(typ)
		if err != nil {
			return fmt.Errorf("field %s: %w", f.Names[0].Name, err)
		}
		mark := ""
		if omit {
			mark = "?"
		} else if pointer || marked(f.Doc, nullMark) {
			ts += " | null"
		}
		w.comment("  ", f.Doc)
		fmt.Fprintf(&w.b, "  %s%s: %s\n", key, mark, ts)
	}
	w.b.WriteString("}\n\n")
	return nil
}

// jsonKey is the key of a field, empty when it has none.
func jsonKey(f *ast.Field) (key string, omitEmpty bool) {
	if f.Tag == nil {
		return "", false
	}
	raw, err := strconv.Unquote(f.Tag.Value)
	if err != nil {
		return "", false
	}
	key, options, _ := strings.Cut(reflect.StructTag(raw).Get("json"), ",")
	if key == "-" {
		return "", false
	}
	return key, options == "omitempty" || options == "omitzero"
}

var basic = map[string]string{
	"string": "string", "bool": "boolean", "any": "unknown",
	"int": "number", "int8": "number", "int16": "number", "int32": "number", "int64": "number",
	"uint": "number", "uint8": "number", "uint16": "number", "uint32": "number", "uint64": "number",
	"float32": "number", "float64": "number",
}

func (w *writer) typeOf(e ast.Expr) (string, error) {
	switch t := e.(type) {
	case *ast.Ident:
		if ts, ok := basic[t.Name]; ok {
			return ts, nil
		}
		if _, ours := w.docs[t.Name]; ours && t.IsExported() {
			return t.Name, nil
		}
	case *ast.StarExpr:
		return w.typeOf(t.X)
	case *ast.ArrayType:
		elem, err := w.typeOf(t.Elt)
		return elem + "[]", err
	case *ast.MapType:
		elem, err := w.typeOf(t.Value)
		// The global helper type of this purpose has the name of one of ours.
		return "{ [key: string]: " + elem + " }", err
	case *ast.SelectorExpr:
		if x, ok := t.X.(*ast.Ident); ok {
			switch x.Name + "." + t.Sel.Name {
			case "json.RawMessage":
				return "unknown", nil
			case "time.Time":
				return "string", nil
			}
		}
	}
	return "", fmt.Errorf("no TypeScript for %s", types.ExprString(e))
}

// unions prints what joins names and shapes.
func (w *writer) unions() error {
	w.b.WriteString("// What joins names and shapes.\n\n")
	w.b.WriteString("/** One of the fifteen kinds with its payload, told apart by `kind`. */\nexport type AgentEvent =\n")
	for _, p := range w.payloads {
		kind, ok := w.text(w.kinds[p])
		if !ok {
			return fmt.Errorf("payload %s does not name its kind", p)
		}
		fmt.Fprintf(&w.b, "  | { kind: %s; payload: %s }\n", quote(kind), p)
	}
	for _, f := range []struct{ table, of, name, doc string }{
		{"WhatPayloads", "What", "ConversationEvent", "the second family"},
		{"TerminalPayloads", "TerminalWhat", "TerminalEvent", "the terminal family"},
		{"OpsPayloads", "OpsWhat", "OpsEvent", "the ops family"},
	} {
		members, err := w.rows(f.table, f.of, 2)
		if err != nil {
			return err
		}
		fmt.Fprintf(&w.b, "\n/** One member of %s with its payload, told apart by `what`. */\nexport type %s =\n", f.doc, f.name)
		for _, m := range members {
			fmt.Fprintf(&w.b, "  | { what: %s; payload: %s }\n", quote(m[0]), m[1])
		}
	}
	commands, err := w.rows("Shapes", "Method", 3)
	if err != nil {
		return err
	}
	w.b.WriteString("\n/** What each method takes and answers. */\nexport interface Commands {\n")
	for _, c := range commands {
		fmt.Fprintf(&w.b, "  %s: { params: %s; result: %s }\n", c[0], c[1], c[2])
	}
	w.b.WriteString("}\n")
	return nil
}

// rows reads a table whose first column is a constant of type of and whose
// others are zero values, and checks that it names each constant once.
func (w *writer) rows(table, of string, columns int) ([][]string, error) {
	rows, err := w.table(table)
	if err != nil {
		return nil, err
	}
	var out [][]string
	seen := map[string]bool{}
	for _, row := range rows {
		if len(row) != columns {
			return nil, fmt.Errorf("%s: a row has %d columns, not %d", table, len(row), columns)
		}
		name, ok := w.text(row[0])
		if !ok {
			return nil, fmt.Errorf("%s: a row does not begin with a constant", table)
		}
		if seen[name] {
			return nil, fmt.Errorf("%s: %s has two rows", table, name)
		}
		seen[name] = true
		line := []string{name}
		for _, cell := range row[1:] {
			ts, err := w.zero(cell)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", table, name, err)
			}
			line = append(line, ts)
		}
		out = append(out, line)
	}
	for _, v := range w.source.values[of] {
		if !seen[v] {
			return nil, fmt.Errorf("%s: %s has no row", table, v)
		}
	}
	return out, nil
}

// zero is the type of a zero value: T{}, or T(nil).
func (w *writer) zero(e ast.Expr) (string, error) {
	switch v := e.(type) {
	case *ast.CompositeLit:
		return w.typeOf(v.Type)
	case *ast.CallExpr:
		return w.typeOf(v.Fun)
	}
	return "", fmt.Errorf("%s is no zero value of a type", types.ExprString(e))
}

// lower is the TypeScript name of a Go variable: a leading capital, or a
// leading run of them but the last, becomes lower case.
func lower(name string) string {
	r := []rune(name)
	for i := range r {
		if !unicode.IsUpper(r[i]) || i > 0 && i+1 < len(r) && unicode.IsLower(r[i+1]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	return string(r)
}

// quote is a TypeScript string literal in ASCII.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r >= ' ' && r < 0x7f:
			b.WriteRune(r)
		default:
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, "\\u%04x", u)
			}
		}
	}
	b.WriteByte('\'')
	return b.String()
}
