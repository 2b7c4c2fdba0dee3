module modelplane.ai/tools/charts

go 1.26.0

require (
	github.com/envoyproxy/gateway v1.8.1
	sigs.k8s.io/gateway-api-inference-extension v1.0.1
	sigs.k8s.io/lws v0.8.0
)
