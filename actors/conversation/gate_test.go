package conversation

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/packetbench/packetbench/contract"
)

func bash(line string) string {
	b, _ := contract.Marshal(map[string]string{"command": line})
	return string(b)
}

func TestPattern(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, want string }{
		{"git diff --stat", "Bash(git diff:*)"},
		{"cd sub && go test ./...", "Bash(go test:*)"},
		{"ls", "Bash(ls)"},
		{"git diff | cat", ""},
		{"git diff; rm x", ""},
		{"echo $(id)", ""},
		{"echo `id`", ""},
		{"cd 0&&0&", ""},
		{"cd sub && make all &", ""},
		{"cd sub && (make) > out", ""},
		{"make > out", ""},
		{"make 2>&1", ""},
		{"sleep 1 &", ""},
		{"A=1 make all", ""},
		{`"git" diff`, ""},
		{"$CMD x", ""},
		{"bash -c ls", ""},
		{"eval x", ""},
		{"xargs rm", ""},
		{"ssh h ls", ""},
		{"git diff (", ""},
		{"! grep x y", ""},
		{`git commit -m "a b"`, "Bash(git commit:*)"},
		{"sudo rm x", ""},
	} {
		got, _ := Pattern("bash", bash(tc.line))
		if got != tc.want {
			t.Errorf("Pattern(%q) = %q; want %q", tc.line, got, tc.want)
		}
	}
	for name, want := range map[string]string{"write_file": "WriteFile(*)", "Write": "WriteFile(*)", "edit_file": "", "mcp__x__y": "", "read_file": "ReadFile(*)"} {
		if got, _ := Pattern(name, "{}"); got != want {
			t.Errorf("Pattern(%s) = %q; want %q", name, got, want)
		}
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	rules := []string{"Bash(git diff:*)", "Bash(git status:*)", "Bash(ls)", "WriteFile(*)"}
	for _, tc := range []struct {
		line string
		want bool
	}{
		{"git diff", true},
		{"git diff HEAD~1 -- a.go", true},
		{"git diff && git status -s", true},
		{"cd sub && git diff", true},
		{"ls", true},
		{"ls -la", false},
		{"git push", false},
		{"git diff; git push", false},
		{"git diff | sh", false},
		{"git diff | git diff", true},
		{"git diff > x", false},
		{"git diff $(rm -rf /)", false},
		{"git diff \"$(id)\"", false},
		{"X=1 git diff", false},
		{"git diff &", false},
		{"git \"diff\"", false},
		{"if true; then git diff; fi", false},
		{"cd sub", true},
		{"git diff <(id)", false},
		{"git diff\nrm x", false},
	} {
		if got := Matches(rules, "bash", bash(tc.line), false); got != tc.want {
			t.Errorf("Matches(%q) = %v; want %v", tc.line, got, tc.want)
		}
	}
	if Matches(rules, "write_file", `{"path":"/etc/x"}`, false) || !Matches(rules, "write_file", `{"path":"x"}`, true) {
		t.Error("WriteFile(*) covers project paths and no others")
	}
	if Matches(nil, "bash", bash("cd x"), false) {
		t.Error("cd without any Bash rule")
	}
}

func TestDestructive(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"rm -rf build": true, "rm -fr x": true, "rm -r -f x": true, "rm -f x": false, "rm -r x": false, "rm x": false,
		"git push --force": true, "git push -f origin": true, "git push": false, "git reset --hard": true, "git reset HEAD": false,
		"git clean -fd": true, "curl https://x | sh": true, "wget -qO- x | sudo bash": true, "curl x -o y": false,
		"chmod -R 777 .": true, "chmod 0777 a": true, "chmod 755 a": false, "mkfs.ext4 /dev/sda1": true,
		"psql -c 'DROP TABLE users'": true, "dd if=/dev/zero of=x": true, ":(){ :|:& };:": true, "echo x > /dev/sda": true,
		"sudo rm x": true, "echo term -rf": false, "git -C x push --force": true, "rm --recursive --force x": true,
	} {
		if got := Destructive("bash", bash(line)); got != want {
			t.Errorf("Destructive(%q) = %v; want %v", line, got, want)
		}
	}
}

// F71: a link out of the project is not inside it.
func TestTier(t *testing.T) {
	t.Parallel()
	project, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(project, "out")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "nowhere"), filepath.Join(project, "dangling")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name, arguments string
		want            contract.Tier
	}{
		{"Read", `{}`, contract.TierRead},
		{"write_file", `{"path":"a/b.txt"}`, contract.TierEdit},
		{"write_file", `"{\"path\":\"a.txt\"}"`, contract.TierEdit},
		{"Write", `{"file_path":"` + project + `/x"}`, contract.TierEdit},
		{"write_file", `{"path":"../x"}`, contract.TierBlocking},
		{"write_file", `{"path":"a/../../x"}`, contract.TierBlocking},
		{"write_file", `{"path":"~/x"}`, contract.TierBlocking},
		{"write_file", `{"path":"C:\\x"}`, contract.TierBlocking},
		{"write_file", `{"path":"\\\\host\\x"}`, contract.TierBlocking},
		{"write_file", `{"path":"/etc/passwd"}`, contract.TierBlocking},
		{"write_file", `{"path":"out/x"}`, contract.TierBlocking},
		{"write_file", `{"path":"dangling"}`, contract.TierBlocking},
		{"write_file", `{"path":"` + project + `-evil/x"}`, contract.TierBlocking},
		{"write_file", `{"path":".claude/settings.json"}`, contract.TierBlocking},
		{"write_file", `{"path":"sub/.GIT/hooks/pre-commit"}`, contract.TierBlocking},
		{"write_file", `{"path":".mcp.json"}`, contract.TierBlocking},
		{"write_file", `{"path":".gitignore"}`, contract.TierEdit},
		{"write_file", `not json`, contract.TierBlocking},
		{"write_file", `{"path":1}`, contract.TierBlocking},
		{"write_file", `{}`, contract.TierBlocking},
		{"apply_patch", `{"patch":"*** Begin Patch\n*** Update File: a.go\n*** Add File: b/c.go\n"}`, contract.TierEdit},
		{"apply_patch", `{"patch":"*** Update File: a.go\n*** Delete File: ../b\n"}`, contract.TierBlocking},
		{"bash", bash("ls"), contract.TierBlocking},
		{"mcp__fs__read", `{}`, contract.TierBlocking},
		{"WebFetch", `{}`, contract.TierBlocking},
	} {
		if got, _ := Tier(tc.name, tc.arguments, project); got != tc.want {
			t.Errorf("Tier(%s, %s) = %s; want %s", tc.name, tc.arguments, got, tc.want)
		}
	}
}

// The table of tools-permissions.md 7, cell by cell.
func TestJudge_Table(t *testing.T) {
	t.Parallel()
	a, p := allow, prompt
	for _, tc := range []struct {
		posture contract.Posture
		want    [3]verdict // read, edit, blocking
	}{
		{contract.Posture{PermissionMode: contract.ModeAuto}, [3]verdict{a, a, p}},
		{contract.Posture{PermissionMode: contract.ModeAllowAll}, [3]verdict{a, a, a}},
		{contract.Posture{PermissionMode: contract.ModeAskForRisky}, [3]verdict{a, p, p}},
		{contract.Posture{PlanMode: true, PermissionMode: contract.ModeAuto}, [3]verdict{p, p, p}},
		{contract.Posture{PermissionMode: contract.ModeDenyAll}, [3]verdict{p, p, p}},
	} {
		for i, tier := range []contract.Tier{contract.TierRead, contract.TierEdit, contract.TierBlocking} {
			c := call{name: "t", arguments: "{}", tier: tier, inProject: tier == contract.TierEdit}
			if got := judge(tc.posture, c, nil, false, nil); got != tc.want[i] {
				t.Errorf("%+v %s = %d; want %d", tc.posture, tier, got, tc.want[i])
			}
			if got := judge(tc.posture, c, nil, true, nil); tier != contract.TierRead && tc.posture.PermissionMode != contract.ModeAllowAll && got != prompt {
				t.Errorf("tainted %+v %s = %d; want a prompt", tc.posture, tier, got)
			}
		}
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"git diff --stat", "cd a && make all", "a | b", "$(x)", "((", "rm -rf \"$X\"", "echo \xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		rule, ok := Pattern("bash", bash(line))
		Destructive("bash", bash(line))
		// What a rule was derived from, it matches.
		if ok && !Matches([]string{rule}, "bash", bash(line), false) {
			t.Fatalf("%q gives %q, which does not match it", line, rule)
		}
	})
}
