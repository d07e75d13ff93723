package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/packetbench/packetbench/actors/msg"
	"github.com/packetbench/packetbench/contract"
)

// fakeDesk answers with what it was asked.
type fakeDesk struct{}

func (fakeDesk) FindFiles(_ context.Context, p contract.FindFilesParams) contract.FoundFiles {
	return contract.FoundFiles{Paths: []string{p.ProjectPath, p.Query}}
}

func (fakeDesk) Commands(project string) []contract.SlashCommand {
	return []contract.SlashCommand{{Name: project}}
}

func (fakeDesk) Project(_ context.Context, project string) contract.ProjectFacts {
	return contract.ProjectFacts{Git: contract.ProjectGit{Branch: project}}
}

func (fakeDesk) Diff(_ context.Context, project string) (contract.ProjectDiff, error) {
	if strings.HasSuffix(project, "/bad") {
		return contract.ProjectDiff{}, errors.New("fatal: not a git repository")
	}
	return contract.ProjectDiff{Diff: project, Staged: true}, nil
}

func (fakeDesk) Export(c contract.Conversation, f contract.ExportFormat) (contract.Exported, error) {
	if c.Title == "" {
		return contract.Exported{}, errors.New("no title")
	}
	return contract.Exported{FileName: c.Title + "." + string(f)}, nil
}

func (fakeDesk) TestKey(_ context.Context, p contract.ProviderID) (contract.KeyTest, error) {
	if p != contract.ProviderAnthropic {
		return contract.KeyTest{}, fmt.Errorf("%s cannot be tried", p)
	}
	return contract.KeyTest{Status: contract.KeyAccepted}, nil
}

func TestDesk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.house()
	dir := filepath.ToSlash(t.TempDir())
	for _, tc := range []struct{ method, params, want string }{
		{"find_files", fmt.Sprintf(`{"project_path":%q,"query":"ma"}`, dir), fmt.Sprintf(`{"paths":[%q,"ma"],"truncated":false}`, dir)},
		{"list_commands", `{"project_path":""}`, `[{"name":"","description":"","body":"","source":""}]`},
		{"get_project", fmt.Sprintf(`{"project_path":%q}`, dir), fmt.Sprintf(`"branch":%q`, dir)},
		{"get_project_diff", fmt.Sprintf(`{"project_path":%q}`, dir), `"staged":true`},
		{"list_profiles", `{}`, `{"profiles":[],"default":"msg.ListProfiles"}`},
		{"save_profile", `{"profile":{"name":"x"}}`, `msg.SaveProfile`},
		{"clone_profile", `{"id":"p"}`, `msg.CloneProfile`},
		{"delete_profile", `{"id":"p"}`, `msg.DeleteProfile`},
		{"set_default_profile", `{"id":"p"}`, `msg.DefaultProfile`},
		{"export_conversation", `{"session_id":"c1","format":"json"}`, `"file_name":"T.json"`},
		{"search_conversations", `{"query":"needle"}`, `"title":"needle"`},
		{"test_key", `{"provider":"anthropic"}`, `"status":"accepted"`},
	} {
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tc.method, tc.params))
		if f.Error != nil || !strings.Contains(string(f.Result), tc.want) {
			t.Errorf("%s: %s %+v, want %s", tc.method, f.Result, f.Error, tc.want)
		}
	}
}

// What git refuses to say is a conflict in git's words, and no fault of a field.
func TestDesk_NoDiff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bad := filepath.ToSlash(t.TempDir()) + "/bad"
	if err := os.Mkdir(bad, 0o700); err != nil {
		t.Fatal(err)
	}
	f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"get_project_diff","params":{"project_path":%q}}`, bad))
	if f.Error == nil || f.Error.Code != contract.CodeConflict || f.Error.Message != "fatal: not a git repository" {
		t.Errorf("%+v", f.Error)
	}
}

// What is refused names its field, before anybody is asked.
func TestDesk_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.house()
	for _, tc := range []struct{ method, params, text string }{
		{"find_files", `{"project_path":"here"}`, "project_path: "},
		{"find_files", `{"project_path":"/no/such/folder/of/ours"}`, "project_path: /no/such"},
		{"get_project", `{}`, "project_path: "},
		{"get_project_diff", `{"project_path":"here"}`, "project_path: "},
		{"list_commands", `{"project_path":"x"}`, "project_path: "},
		{"save_profile", `{"profile":7}`, "profile: want an object"},
		{"clone_profile", `{}`, "id: "},
		{"export_conversation", `{"session_id":"c1","format":"pdf"}`, "format: "},
		{"export_conversation", `{"session_id":"a b","format":"md"}`, "session_id: "},
		{"search_conversations", `{"query":"  "}`, "query: "},
		{"search_conversations", `{"query":"` + strings.Repeat("x", maxSearch+1) + `"}`, "query: "},
		{"test_key", `{"provider":"nobody"}`, "provider: nobody cannot be tried"},
	} {
		f := r.rpc(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, tc.method, tc.params))
		if f.Error == nil || f.Error.Code != contract.CodeBadParams || !strings.Contains(f.Error.Message, tc.text) {
			t.Errorf("%s %s: %+v", tc.method, tc.params, f.Error)
		}
	}
	if n := len(r.node.seen(&r.node.asked)); n != 0 {
		t.Errorf("%d requests reached an actor", n)
	}
	for what, reply := range map[string]any{
		"There is no such": msg.ProfileList{Failure: contract.Fail(contract.CodeNotFound, "There is no such profile any more.")},
		"reference":        7,
	} {
		r.node.on(msg.Store, func(any) (any, error) { return reply, nil })
		if f := r.rpc(`{"jsonrpc":"2.0","id":1,"method":"list_profiles","params":{}}`); f.Error == nil || !strings.Contains(f.Error.Message, what) {
			t.Errorf("%T: %+v", reply, f.Error)
		}
	}
	if f := r.rpc(`{"jsonrpc":"2.0","id":1,"method":"search_conversations","params":{"query":"x"}}`); f.Error == nil || f.Error.Code != contract.CodeInternal {
		t.Errorf("a strange store: %+v", f.Error)
	}
}
