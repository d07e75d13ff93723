package tool

import (
	"slices"
	"testing"
)

// What a model runs gets the person's environment, but neither the service's
// own settings nor the keys it may use.
func TestEnvironment_HoldsNoKeys(t *testing.T) {
	t.Parallel()
	got := environment([]string{
		"PATH=/bin", "ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=b", "OPENROUTER_API_KEY=c", "MINIMAX_API_KEY=d",
		"PACKETBENCH_HOME=/x", "PWD=/old", "GITHUB_TOKEN=g",
	}, "/project")
	if want := []string{"PATH=/bin", "GITHUB_TOKEN=g", "PWD=/project"}; !slices.Equal(got, want) {
		t.Errorf("environment %v; want %v", got, want)
	}
}
