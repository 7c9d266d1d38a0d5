{{/* The pod, the same for StatefulSet and Deployment. */}}
{{- define "hooklaunch.pod" -}}
{{- $public := include "hooklaunch.publicUrl" . -}}
{{- $configMap := include "hooklaunch.configMap" . -}}
metadata:
  labels:
    {{- include "hooklaunch.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    checksum/config: {{ toJson .Values.config | sha256sum }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "hooklaunch.serviceAccount" . }}
  automountServiceAccountToken: {{ .Values.kubernetesEngine.enabled }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  containers:
    - name: hooklaunch
      image: {{ include "hooklaunch.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - serve
        {{- if not .Values.kv }}
        - --wait
        {{- end }}
        {{- range .Values.extraArgs }}
        - {{ . | quote }}
        {{- end }}
      ports:
        - { name: {{ include "hooklaunch.scheme" . }}, containerPort: 8000 }
      env:
        # All addresses, of IPv4 too. A cluster may have IPv6 alone.
        - { name: HOOKLAUNCH_HOST, value: "::" }
        - { name: HOOKLAUNCH_PORT, value: "8000" }
        - { name: HOOKLAUNCH_DATA, value: /data }
        {{- with $public }}
        - { name: HOOKLAUNCH_PUBLIC_URL, value: {{ . | quote }} }
        {{- end }}
        {{- with .Values.trustedProxies }}
        - { name: HOOKLAUNCH_TRUSTED_PROXY, value: {{ join "," . | quote }} }
        {{- end }}
        {{- if $configMap }}
        - { name: HOOKLAUNCH_CONFIG, value: /etc/hooklaunch/hooklaunch.yaml }
        {{- end }}
        {{- with .Values.storage }}
        - { name: HOOKLAUNCH_STORAGE, value: {{ . | quote }} }
        {{- end }}
        {{- if .Values.kv }}
        - { name: HOOKLAUNCH_KV, value: {{ .Values.kv | quote }} }
        - { name: POD_IP, valueFrom: { fieldRef: { fieldPath: status.podIP } } }
        - { name: HOOKLAUNCH_INSTANCE_URL, value: "http://$(POD_IP):8000" }
        {{- end }}
        {{- if .Values.tls.secretName }}
        - { name: HOOKLAUNCH_TLS_CERT, value: /etc/hooklaunch-tls/tls.crt }
        - { name: HOOKLAUNCH_TLS_KEY, value: /etc/hooklaunch-tls/tls.key }
        {{- end }}
        {{- if .Values.kubernetesEngine.enabled }}
        - { name: HOOKLAUNCH_AGENT_URL, value: {{ include "hooklaunch.agentUrl" . | quote }} }
        {{- if .Values.kubernetesEngine.agentHttp }}
        - { name: HOOKLAUNCH_AGENT_HTTP, value: "true" }
        {{- end }}
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- if or .Values.existingSecret .Values.extraEnvFrom }}
      envFrom:
        {{- with .Values.existingSecret }}
        - secretRef: { name: {{ . | quote }} }
        {{- end }}
        {{- with .Values.extraEnvFrom }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      # A start may check a large database, and wait for a volume's former pod.
      startupProbe:
        httpGet: { path: /healthz, port: 8000, scheme: {{ include "hooklaunch.scheme" . | upper }} }
        periodSeconds: 2
        timeoutSeconds: 5
        failureThreshold: {{ div (add .Values.startupSeconds 1) 2 }}
      livenessProbe:
        httpGet: { path: /healthz, port: 8000, scheme: {{ include "hooklaunch.scheme" . | upper }} }
        periodSeconds: 10
        timeoutSeconds: 10
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: 8000, scheme: {{ include "hooklaunch.scheme" . | upper }} }
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 2
      lifecycle:
        preStop: { exec: { command: [sleep, "{{ .Values.drainSeconds }}"] } }
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- if $configMap }}
        - { name: config, mountPath: /etc/hooklaunch, readOnly: true }
        {{- end }}
        {{- if .Values.tls.secretName }}
        - { name: tls, mountPath: /etc/hooklaunch-tls, readOnly: true }
        {{- end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if .Values.kv }}
    - name: data
      emptyDir: {}
    {{- else if .Values.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: { claimName: {{ .Values.persistence.existingClaim | quote }} }
    {{- end }}
    {{- with $configMap }}
    - name: config
      configMap: { name: {{ . | quote }} }
    {{- end }}
    {{- with .Values.tls.secretName }}
    - name: tls
      secret: { secretName: {{ . | quote }} }
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . | quote }}
  {{- end }}
  {{- range $field := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
  {{- with index $.Values $field }}
  {{ $field }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end -}}
