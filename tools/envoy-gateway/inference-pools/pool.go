package main

import (
	"encoding/json"
	"fmt"

	"github.com/envoyproxy/gateway/proto/extension"
)

const (
	poolGroup = "inference.networking.k8s.io/v1"
	poolKind  = "InferencePool"
)

// pool is as much of an InferencePool as routing needs.
type pool struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		EndpointPickerRef struct {
			Name string `json:"name"`
			Port struct {
				Number uint32 `json:"number"`
			} `json:"port"`
		} `json:"endpointPickerRef"`
	} `json:"spec"`
}

// picker is a Service whose pods pick.
type picker struct {
	host string
	port uint32
}

func (p picker) cluster() string { return fmt.Sprintf("endpoint-picker/%s:%d", p.host, p.port) }

func (p *pool) picker() picker {
	reference := p.Spec.EndpointPickerRef
	return picker{host: fmt.Sprintf("%s.%s.svc", reference.Name, p.Metadata.Namespace), port: reference.Port.Number}
}

// firstPool is the first of the resources that is an InferencePool; a rule leads to one at most.
func firstPool(resources []*extension.ExtensionResource) *pool {
	for _, resource := range resources {
		found := &pool{}
		if json.Unmarshal(resource.GetUnstructuredBytes(), found) != nil {
			continue
		}
		if found.APIVersion == poolGroup && found.Kind == poolKind {
			return found
		}
	}
	return nil
}
