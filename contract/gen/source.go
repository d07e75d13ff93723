package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The directives a source may carry in a comment.
const (
	// openMark is on a string type whose constants are not all of its values.
	openMark = "//gen:open"
	// nullMark is on a slice field that is null on the wire when it is empty.
	nullMark = "//gen:null"
)

func marked(doc *ast.CommentGroup, mark string) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return c.Text == mark })
}

// source is the package as it was read.
type source struct {
	set   *token.FileSet
	files []*ast.File
	names []string // of files, in the same order
	info  *types.Info

	// values holds the constants of each string type, in source order.
	values map[string][]string
	open   map[string]bool
	// kinds maps a payload type to the constant that its Kind returns.
	kinds map[string]ast.Expr
	// payloads are the types with an event method, in source order.
	payloads []string
	docs     map[string]*ast.CommentGroup
}

func load(dir string) (*source, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	s := &source{
		set: token.NewFileSet(), values: map[string][]string{}, open: map[string]bool{},
		kinds: map[string]ast.Expr{}, docs: map[string]*ast.CommentGroup{},
		info: &types.Info{Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}},
	}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.set, filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, f)
		s.names = append(s.names, e.Name())
	}
	if len(s.files) == 0 {
		return nil, fmt.Errorf("%s holds no Go source", dir)
	}
	// Only constants are wanted of the checker, and ours need no import: what
	// it says about the missing packages is left aside.
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	_, _ = conf.Check("contract", s.set, s.files, s.info)
	s.scan()
	return s, nil
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) {
	return nil, errors.New("imports are not needed for constants")
}

func (s *source) scan() {
	for _, f := range s.files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				s.scanDecl(d)
			case *ast.FuncDecl:
				s.scanFunc(d)
			}
		}
	}
}

func (s *source) scanDecl(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			s.docs[spec.Name.Name] = doc
			s.open[spec.Name.Name] = marked(doc, openMark)
		case *ast.ValueSpec:
			if d.Tok != token.CONST {
				continue
			}
			for _, name := range spec.Names {
				c, ok := s.info.Defs[name].(*types.Const)
				if !ok || !name.IsExported() || c.Val().Kind() != constant.String {
					continue
				}
				if named, ok := c.Type().(*types.Named); ok {
					t := named.Obj().Name()
					s.values[t] = append(s.values[t], constant.StringVal(c.Val()))
				}
			}
		}
	}
}

func (s *source) scanFunc(d *ast.FuncDecl) {
	if d.Recv == nil || len(d.Recv.List) != 1 {
		return
	}
	recv, ok := d.Recv.List[0].Type.(*ast.Ident)
	if !ok {
		return
	}
	switch d.Name.Name {
	case "event":
		s.payloads = append(s.payloads, recv.Name)
	case "Kind":
		if len(d.Body.List) == 1 {
			if r, ok := d.Body.List[0].(*ast.ReturnStmt); ok && len(r.Results) == 1 {
				s.kinds[recv.Name] = r.Results[0]
			}
		}
	}
}

// text is the value of a constant string expression.
func (s *source) text(e ast.Expr) (string, bool) {
	v := s.info.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// table is the value of the exported variable name: rows of composite
// literals, each as its fields in order.
func (s *source) table(name string) ([][]ast.Expr, error) {
	for _, f := range s.files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || len(v.Names) != 1 || v.Names[0].Name != name || len(v.Values) != 1 {
					continue
				}
				lit, ok := v.Values[0].(*ast.CompositeLit)
				if !ok {
					return nil, fmt.Errorf("%s is not a list", name)
				}
				var rows [][]ast.Expr
				for _, e := range lit.Elts {
					row, ok := e.(*ast.CompositeLit)
					if !ok {
						return nil, fmt.Errorf("%s: a row is not a literal", name)
					}
					rows = append(rows, row.Elts)
				}
				return rows, nil
			}
		}
	}
	return nil, fmt.Errorf("the package has no table %s", name)
}
