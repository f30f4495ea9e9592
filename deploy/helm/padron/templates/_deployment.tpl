{{/*
A Deployment of one process. Takes `root`, `component`, `own`, `program` (its file in the image) and, in consumers,
`replica` and `suffix`.
*/}}
{{- define "padron.deployment" -}}
{{- $values := .root.Values -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "padron.fullname" .root }}-{{ .component }}{{ .suffix }}
  labels:
    {{- include "padron.labels" . | nindent 4 }}
spec:
  {{- if not (dig "hpa" "enabled" false .own) }}
  replicas: {{ .own.replicas }}
  {{- end }}
  revisionHistoryLimit: 5
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxUnavailable: 0
      maxSurge: 1
  selector:
    matchLabels:
      {{- include "padron.selector" . | nindent 6 }}
  template:
    metadata:
      labels:
        {{- include "padron.labels" . | nindent 8 }}
      {{- with .own.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "padron.fullname" .root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ .own.terminationGracePeriodSeconds }}
      securityContext:
        {{- include "padron.pod-security" . | nindent 8 }}
      {{- with $values.image.pullSecrets }}
      imagePullSecrets:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      topologySpreadConstraints:
        {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - topologyKey: {{ . }}
          maxSkew: 1
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              {{- include "padron.selector" $ | nindent 14 }}
        {{- end }}
      {{- range $name := list "nodeSelector" "tolerations" "affinity" }}
      {{- with index $.own $name }}
      {{ $name }}:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- end }}
      containers:
        - name: {{ .component }}
          command: [node, --import, tsx, {{ .program }}]
          {{- include "padron.container" . | nindent 10 }}
          ports:
            {{- if eq .component "api" }}
            - name: http
              containerPort: 8080
            {{- if $values.operators.enabled }}
            - name: operators
              containerPort: 8082
            {{- end }}
            {{- end }}
            - name: health
              containerPort: 9090
          # A start may take minutes on a busy node: it compiles the product and, in the worker, bundles the workflows.
          startupProbe:
            httpGet: {path: /healthz, port: health}
            periodSeconds: 5
            failureThreshold: 60
          livenessProbe:
            httpGet: {path: /healthz, port: health}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: health}
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2
          lifecycle:
            preStop:
              sleep:
                seconds: {{ $values.preStopSeconds }}
      volumes:
        {{- include "padron.volumes" . | nindent 8 }}
{{- end }}
