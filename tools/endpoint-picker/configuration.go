package main

import (
	"encoding/json"
	"fmt"
)

const (
	cacheProducer  = "approx-prefix-cache-producer"
	cacheScorer    = "prefix-cache-scorer"
	decider        = "prefix-based-pd-decider"
	headersHandler = "disagg-headers-handler"
	profileHandler = "disagg-profile-handler"

	apiVersion = "inference.networking.x-k8s.io/v1alpha1"

	// This version counts characters where the newer one counts tokens.
	charactersAToken = 4
	// It leaves one block out of every hit, so blocks are kept small.
	charactersABlock = 16
)

type plugin struct {
	Type       string         `json:"type"`
	Name       string         `json:"name,omitempty"`
	Parameters map[string]any `json:"parameters,omitempty"`
}

// translated is a configuration of the newer version in this version's words.
func translated(content []byte) ([]byte, error) {
	document := map[string]json.RawMessage{}
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, err
	}
	var found []plugin
	if err := json.Unmarshal(document["plugins"], &found); err != nil {
		return nil, fmt.Errorf("plugins: %w", err)
	}
	uncached := 0.0
	for _, each := range found {
		if tokens, given := each.Parameters["nonCachedTokens"].(float64); given && each.Type == decider {
			uncached = tokens
		}
	}
	for index, each := range found {
		switch each.Type {
		case cacheScorer:
			found[index].Parameters = map[string]any{"autoTune": false, "blockSize": charactersABlock}
		case profileHandler:
			threshold := int(uncached) * charactersAToken
			found[index].Parameters = map[string]any{"threshold": threshold, "hashBlockSize": charactersABlock}
		}
	}
	plugins, err := json.Marshal(found)
	if err != nil {
		return nil, err
	}
	document["plugins"] = plugins
	document["apiVersion"] = json.RawMessage(`"` + apiVersion + `"`)
	return json.Marshal(document)
}
