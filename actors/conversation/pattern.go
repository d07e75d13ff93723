package conversation

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Names of tools that are the same to a rule, whoever's tools they are.
var (
	bashNames  = []string{"bash", "Bash"}
	readNames  = []string{"Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite", "BashOutput", "read_file", "list_directory", "grep"}
	editNames  = []string{"write_file", "edit_file", "Write", "Edit", "MultiEdit", "NotebookEdit", "apply_patch"}
	fileRules  = map[string]string{"write_file": ruleWrite, "Write": ruleWrite, "read_file": ruleRead, "Read": ruleRead, "list_directory": ruleList, "LS": ruleList, "grep": ruleGrep, "Grep": ruleGrep}
	editPathOf = []string{"file_path", "notebook_path", "path"}
)

// The patterns that are not about a shell command. Source:
// tools-permissions.md 7.
const (
	ruleWrite = "WriteFile(*)"
	ruleRead  = "ReadFile(*)"
	ruleList  = "ListDirectory(*)"
	ruleGrep  = "Grep(*)"
)

// command reads the shell command of a call's arguments.
func command(name, arguments string) (string, bool) {
	if !slices.Contains(bashNames, name) {
		return "", false
	}
	var a struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(unwrap(arguments), &a) != nil || strings.TrimSpace(a.Command) == "" {
		return "", false
	}
	return a.Command, true
}

// unwrap accepts arguments that are a JSON string holding JSON, which some
// transports send.
func unwrap(arguments string) []byte {
	var inner string
	if json.Unmarshal([]byte(arguments), &inner) == nil {
		return []byte(inner)
	}
	return []byte(arguments)
}

// Pattern derives the rule that "Always allow" would add for a call, and
// whether there is one.
func Pattern(name, arguments string) (string, bool) {
	if line, ok := command(name, arguments); ok {
		return bashPattern(line)
	}
	rule, ok := fileRules[name]
	return rule, ok
}

// bashPattern: a leading `cd X &&` is dropped, exactly one simple command must
// remain, and its first two literal words make the rule.
func bashPattern(line string) (string, bool) {
	file, ok := parseShell(line)
	if !ok || len(file.Stmts) != 1 {
		return "", false
	}
	stmt := file.Stmts[0]
	if b, isBinary := stmt.Cmd.(*syntax.BinaryCmd); isBinary && b.Op == syntax.AndStmt {
		if stmt.Background || stmt.Negated || stmt.Coprocess || len(stmt.Redirs) > 0 {
			return "", false // It holds for the whole line: `cd x && make &`.
		}
		words, simple := simpleWords(b.X)
		if !simple || len(words) != 2 || words[0] != "cd" {
			return "", false
		}
		stmt = b.Y
	}
	words, ok := simpleWords(stmt)
	if !ok || opaque(words[0]) {
		return "", false
	}
	if len(words) == 1 {
		return "Bash(" + words[0] + ")", true
	}
	if strings.HasPrefix(words[1], "-") && len(words) > 2 && slices.Contains(wrappers, words[0]) {
		return "", false
	}
	return "Bash(" + words[0] + " " + words[1] + ":*)", true
}

// wrappers run another program that their flags only precede.
var wrappers = []string{"env", "sudo", "nice", "time", "timeout", "nohup", "doas", "command", "exec"}

// opaque programs take program text as an argument, so their words say nothing
// about what runs. Source: runtime.md 9.
func opaque(program string) bool {
	return slices.Contains([]string{"eval", "xargs", "ssh", "sh", "bash", "zsh", "dash", "fish", "source", ".", "env", "sudo", "doas", "nohup", "exec", "command", "time", "timeout", "nice"}, path.Base(program))
}

func parseShell(line string) (*syntax.File, bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	return file, err == nil
}

// literalWord is a word that may be part of a rule: no quotes, no expansion,
// no glob that the rule's own syntax would mistake.
var literalWord = regexp.MustCompile(`^[A-Za-z0-9_./@%+=,~-][A-Za-z0-9_./@%+=,:~-]*$`)

// simpleWords returns the leading words of a statement that is one simple
// command without redirection, background, negation, assignment or
// substitution anywhere. Words after the first two may be quoted; only their
// number counts.
func simpleWords(stmt *syntax.Stmt) ([]string, bool) {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 || len(stmt.Redirs) > 0 ||
		stmt.Background || stmt.Negated || stmt.Coprocess || substitutes(stmt) {
		return nil, false
	}
	words := make([]string, 0, len(call.Args))
	for i, arg := range call.Args {
		lit := arg.Lit()
		if i < 2 && !literalWord.MatchString(lit) {
			return nil, false
		}
		words = append(words, lit)
	}
	return words, true
}

// substitutes reports whether a command or process substitution stands
// anywhere below n.
func substitutes(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			found = true
		}
		return !found
	})
	return found
}

// Matches reports whether one of the granted rules covers a call. inProject
// tells whether every path that an edit touches is inside the project.
//
// A Bash rule covers a line when every simple command of it has the rule's
// first words: never across a pipe into another program, never with a
// substitution or a redirection to a file.
func Matches(rules []string, name, arguments string, inProject bool) bool {
	if line, ok := command(name, arguments); ok {
		return bashMatches(rules, line)
	}
	rule, ok := fileRules[name]
	return ok && slices.Contains(rules, rule) && (rule != ruleWrite || inProject)
}

func bashMatches(rules []string, line string) bool {
	file, ok := parseShell(line)
	if !ok || len(file.Stmts) == 0 {
		return false
	}
	all := true
	calls := 0
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case nil:
			return true
		case *syntax.File, *syntax.BinaryCmd, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.Comment:
			return true
		case *syntax.Stmt:
			if len(n.Redirs) > 0 || n.Background || n.Coprocess {
				all = false
			}
			return true
		case *syntax.CallExpr:
			calls++
			if len(n.Assigns) > 0 || !callMatches(rules, n) {
				all = false
			}
			return true
		case *syntax.ParamExp:
			return true
		default: // Substitutions, loops, functions, arithmetic: not simple.
			all = false
			return false
		}
	})
	return all && calls > 0
}

func callMatches(rules []string, call *syntax.CallExpr) bool {
	if len(call.Args) == 0 {
		return false
	}
	first := call.Args[0].Lit()
	if first == "cd" && len(call.Args) == 2 && slices.ContainsFunc(rules, func(r string) bool { return strings.HasPrefix(r, "Bash(") }) {
		return true // A leading `cd X &&` is no program of its own.
	}
	if !literalWord.MatchString(first) {
		return false
	}
	if len(call.Args) == 1 {
		return slices.Contains(rules, "Bash("+first+")")
	}
	second := call.Args[1].Lit()
	return literalWord.MatchString(second) && slices.Contains(rules, "Bash("+first+" "+second+":*)")
}

// destructive lists what a command looks like that can delete or overwrite
// what git does not track. A badge, never a lock. Source: tools-permissions.md
// 7.
var destructive = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\brm\s+(?:\S+\s+)*-(?:[a-z]*r[a-z]*f|[a-z]*f[a-z]*r)[a-z]*\b`),
	regexp.MustCompile(`(?i)\brm\s+(?:\S+\s+)*(?:-[a-z]*r[a-z]*|--recursive)\s+(?:\S+\s+)*(?:-[a-z]*f[a-z]*|--force)\b`),
	regexp.MustCompile(`(?i)\brm\s+(?:\S+\s+)*(?:-[a-z]*f[a-z]*|--force)\s+(?:\S+\s+)*(?:-[a-z]*r[a-z]*|--recursive)\b`),
	regexp.MustCompile(`(?i)\bgit\s+(?:\S+\s+)*?push\b[^;&|]*\s(?:--force\b|--force-with-lease\b|-[a-z]*f[a-z]*\b)`),
	regexp.MustCompile(`(?i)\bgit\s+(?:\S+\s+)*?reset\b[^;&|]*\s--hard\b`),
	regexp.MustCompile(`(?i)\bgit\s+(?:\S+\s+)*?clean\b[^;&|]*\s(?:-[a-z]*f|--force\b)`),
	regexp.MustCompile(`(?i)\b(?:curl|wget)\b[^;&]*\|\s*(?:sudo\s+)?(?:\S*/)?(?:sh|bash|zsh)\b`),
	regexp.MustCompile(`(?i)\bchmod\s+(?:-\S+\s+)*0?777\b`),
	regexp.MustCompile(`(?i)\bmkfs(?:\.\w+)?\b`),
	regexp.MustCompile(`(?i)\b(?:drop\s+(?:database|table)|truncate\s+table)\b`),
	regexp.MustCompile(`(?i)\bdd\s+(?:\S+\s+)*if=`),
	regexp.MustCompile(`:\s*\(\s*\)\s*\{.*:\s*\|\s*:.*&.*\}\s*;?\s*:`),
	regexp.MustCompile(`(?i)>\s*/dev/(?:sd[a-z]|nvme\d|vd[a-z]|hd[a-z])`),
	regexp.MustCompile(`(?i)\bsudo\s+(?:-\S+\s+)*rm\b`),
}

// Destructive reports whether a call deserves the badge.
func Destructive(name, arguments string) bool {
	line, ok := command(name, arguments)
	return ok && slices.ContainsFunc(destructive, func(re *regexp.Regexp) bool { return re.MatchString(line) })
}
