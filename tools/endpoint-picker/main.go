// Command endpoint-picker picks the engine pod for each request of an InferencePool.
//
// It is llm-d's picker in the newest version that builds with Go alone, and takes the configuration of the version
// that Modelplane installs: plugins that were renamed are registered under their new names, and parameters that moved
// from one plugin to another are put where this version looks for them.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/llm-d/llm-d-inference-scheduler/pkg/plugins/filter"
	prerequest "github.com/llm-d/llm-d-inference-scheduler/pkg/plugins/pre-request"
	"github.com/llm-d/llm-d-inference-scheduler/pkg/plugins/profile"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/gateway-api-inference-extension/cmd/epp/runner"
	"sigs.k8s.io/gateway-api-inference-extension/pkg/epp/plugins"
)

func main() {
	plugins.Register(filter.DecodeRoleType, filter.DecodeRoleFactory)
	plugins.Register(filter.PrefillRoleType, filter.PrefillRoleFactory)
	plugins.Register(headersHandler, prerequest.PrefillHeaderHandlerFactory)
	plugins.Register(profileHandler, profile.PdProfileHandlerFactory)
	plugins.Register(cacheProducer, inert(cacheProducer))
	plugins.Register(decider, inert(decider))

	arguments, err := withTranslatedConfiguration(os.Args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "endpoint-picker:", err)
		os.Exit(2)
	}
	os.Args = append(arguments, "--tracing=false")
	if err := runner.NewRunner().Run(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}

// withTranslatedConfiguration replaces the file that the arguments name by its translated text.
func withTranslatedConfiguration(arguments []string) ([]string, error) {
	result := make([]string, 0, len(arguments))
	for _, argument := range arguments {
		if file, found := strings.CutPrefix(argument, "--config-file="); found {
			content, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			text, err := translated(content)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			argument = "--config-text=" + string(text)
		}
		result = append(result, argument)
	}
	return result, nil
}

// inert is a plugin that is known by name and does nothing: another one of this version does its work.
func inert(kind string) plugins.FactoryFunc {
	return func(name string, _ json.RawMessage, _ plugins.Handle) (plugins.Plugin, error) {
		return nothing{plugins.TypedName{Type: kind, Name: name}}, nil
	}
}

type nothing struct{ name plugins.TypedName }

func (n nothing) TypedName() plugins.TypedName { return n.name }
