{{- define "hooklaunch.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "hooklaunch.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "hooklaunch.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "hooklaunch.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "hooklaunch.serviceAccount" -}}
{{- default (include "hooklaunch.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "hooklaunch.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "hooklaunch.scheme" -}}
{{- ternary "https" "http" (ne .Values.tls.secretName "") -}}
{{- end -}}

{{- define "hooklaunch.publicUrl" -}}
{{- if .Values.publicUrl -}}
{{- .Values.publicUrl -}}
{{- else if and .Values.ingress.enabled .Values.ingress.hosts -}}
{{- printf "https://%s" (first .Values.ingress.hosts) -}}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
{{- printf "https://%s" (first .Values.httpRoute.hostnames) -}}
{{- end -}}
{{- end -}}

{{- define "hooklaunch.agentUrl" -}}
{{- default (include "hooklaunch.publicUrl" .) .Values.kubernetesEngine.agentUrl -}}
{{- end -}}

{{- define "hooklaunch.configMap" -}}
{{- if .Values.existingConfigMap -}}
{{- .Values.existingConfigMap -}}
{{- else if .Values.config -}}
{{- include "hooklaunch.fullname" . -}}
{{- end -}}
{{- end -}}

{{/* Values that are right by themselves and not together: values.schema.json sees each alone. */}}
{{- define "hooklaunch.check" -}}
{{- with .Values -}}
{{- if and .kv (not .storage) -}}
{{- fail "kv needs storage: set it to a bucket that all pods use, such as s3://hooks/production" -}}
{{- end -}}
{{- if and .kv (not .existingSecret) -}}
{{- fail "kv needs existingSecret: a Secret with HOOKLAUNCH_SECRET_KEY, the same for all pods, and DENO_KV_ACCESS_TOKEN" -}}
{{- end -}}
{{- if and (gt (int .replicas) 1) (not .kv) -}}
{{- fail (printf "replicas: %d needs kv and storage: without them one pod keeps all on its volume" (int .replicas)) -}}
{{- end -}}
{{- if and .kv .tls.secretName -}}
{{- fail "tls.secretName does not go with kv: pods reach each other by addresses that no certificate names. End TLS at the ingress" -}}
{{- end -}}
{{- if and .config .existingConfigMap -}}
{{- fail "Set config or existingConfigMap, not both" -}}
{{- end -}}
{{- if and (or .ingress.enabled .httpRoute.enabled) (not .trustedProxies) (not .tls.secretName) -}}
{{- fail "ingress and httpRoute need trustedProxies: the addresses of the controller's pods, such as 10.244.0.0/16. Without them every launch is refused as plain HTTP" -}}
{{- end -}}
{{- if and .ingress.enabled (not .ingress.hosts) -}}
{{- fail "ingress.enabled needs ingress.hosts: the names of the service, such as hooks.example.com" -}}
{{- end -}}
{{- if and .httpRoute.enabled (not .httpRoute.parentRefs) -}}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs: the Gateway, such as [{ name: public }]" -}}
{{- end -}}
{{- if .kubernetesEngine.enabled -}}
{{- $url := include "hooklaunch.agentUrl" $ -}}
{{- if not $url -}}
{{- fail "kubernetesEngine.enabled needs kubernetesEngine.agentUrl or publicUrl: how Jobs reach the service" -}}
{{- end -}}
{{- if and (hasPrefix "http://" $url) (not .kubernetesEngine.agentHttp) -}}
{{- fail (printf "kubernetesEngine.agentUrl is %s: use https, or set kubernetesEngine.agentHttp, where code and data may travel unencrypted" $url) -}}
{{- end -}}
{{- end -}}
{{- if .serviceMonitor.enabled -}}
{{- if not .tls.secretName -}}
{{- fail "serviceMonitor.enabled needs tls.secretName: /metrics takes its token over TLS alone" -}}
{{- end -}}
{{- if not .serviceMonitor.tokenSecret.name -}}
{{- fail "serviceMonitor.enabled needs serviceMonitor.tokenSecret.name: a Secret with an operator's token of the scope read" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
